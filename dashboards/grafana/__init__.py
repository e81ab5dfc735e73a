"""Four Grafana dashboards as code, over the metrics that the middleware exports to Prometheus.

`python -m dashboards.grafana` writes their JSON to `json/`, from where Grafana loads it; a test keeps both equal.
The metric names are the ones that Prometheus has when it scrapes opentelemetry-exporter-prometheus, and when it takes
OTLP with its default translation strategy (`UnderscoreEscapingWithSuffixes`): the two give the same names.
"""
