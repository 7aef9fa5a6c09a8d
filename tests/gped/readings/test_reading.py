"""What is known of readings before they come."""

import pytest

from gped.readings.reading import ReadingsInfo


@pytest.mark.parametrize(
    ("burn_in", "thinning", "updates"), [(1000, 100, 9990), (1000, 10, 99900), (10000, 100, 9900), (10000, 10, 99000)]
)
def test_the_paper_has_as_many_updates_as_its_protocol_says(burn_in, thinning, updates):
    info = ReadingsInfo(60000, "categorical", 10, 100, thinning, burn_in, 10**6, 10**6)
    assert len(info.due) == updates


def test_a_reading_of_a_hundred_inputs_and_ten_classes_takes_little_more_than_its_numbers():
    info = ReadingsInfo(60000, "categorical", 10, 100, 10, 1000, 10**6, 10**6)
    assert info.record.itemsize == 100 * 4 + 100 * 10 * 4 + 12
    assert 439e6 < len(info.due) * info.record.itemsize < 442e6
