"""Percentiles out of a sketch, and what tokens cost."""

import pytest

from dashboards.local.errors import DashboardError
from dashboards.local.prices import load_prices
from dashboards.local.sketch import bin_of, dump, load, middle, percentiles


def test_a_percentile_is_within_two_percent_of_the_truth():
    values = [0.001 * 1.01**number for number in range(1000)]
    sketch = {}
    for value in values:
        sketch[bin_of(value)] = sketch.get(bin_of(value), 0) + 1
    for share in (0.01, 0.5, 0.9, 0.95, 0.99, 1.0):
        truth = values[max(0, -(-int(share * 1e6) * 1000 // 10**6) - 1)]
        assert percentiles([dump(sketch)], [share])[0] == pytest.approx(truth, rel=0.022)
    assert load(dump(sketch), {}) == sketch


@pytest.mark.parametrize(("value", "number"), [(0.0, 0), (-1.0, 0), (1e-6, 0), (1.1e-6, 3), (1e9, 640)])
def test_values_at_the_ends_have_a_bin(value, number):
    assert bin_of(value) == number
    assert middle(0) == 0.0


def test_prices_are_read_and_the_longest_name_wins(tmp_path):
    path = tmp_path / "prices.toml"
    path.write_text('currency = "EUR"\n["gpt-*"]\ninput = 1\noutput = 2\n["gpt-5-*"]\ninput = 3\n[o4]\noutput = 5.5\n')
    prices = load_prices(path)
    assert prices.currency == "EUR"
    assert prices.cost("gpt-5-mini", input=1_000_000, output=0) == 3.0
    assert prices.cost("gpt-4", input=1_000_000, output=1_000_000) == 3.0
    assert prices.cost("gpt-5-mini", input=1, output=1) is None
    assert prices.cost("o4", input=None, output=2_000_000) == 11.0
    assert (prices.cost("claude", input=1, output=1), prices.cost(None, input=1, output=1)) == (None, None)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[gpt\n", "is no TOML: "),
        ("gpt = 3\n", "[gpt] must be a table of input and output; write a model in quotes"),
        ("[gpt]\ninput = -1\n", "[gpt] input must be a number, 0 or more"),
        ("[gpt]\ninput = nan\n", "[gpt] input must be a number, 0 or more"),
        ("[gpt]\nprompt = 1\n", "[gpt] has 'prompt'; there are input, output, cache_read, cache_write"),
        ("currency = 3\n", "currency must be a text, such as 'USD'"),
    ],
)
def test_prices_that_make_no_sense_are_one_line(tmp_path, text, line):
    path = tmp_path / "prices.toml"
    path.write_text(text)
    with pytest.raises(DashboardError) as caught:
        load_prices(path)
    assert line in str(caught.value)
    with pytest.raises(DashboardError, match="name a TOML file, or unset prices"):
        load_prices(tmp_path / "none.toml")
    assert [held.name for held in tmp_path.iterdir()] == ["prices.toml"]
