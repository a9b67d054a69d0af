import pytest

from ostler.domain.labels import checked_labels
from ostler.domain.machine import Refused


def test_labels_are_sorted_lower_case_and_distinct() -> None:
    assert checked_labels([" Linux", "gpu", "linux", "", "x86_64"]) == ("gpu", "linux", "x86_64")
    assert checked_labels([]) == ()


@pytest.mark.parametrize(
    ("labels", "code"),
    [
        (["a" * 65], "label_length"),
        (["two words"], "label_characters"),
        (["a,b"], "label_characters"),
        (["a\x00b"], "label_characters"),
        (['"a"'], "label_characters"),
        ([f"l{number}" for number in range(51)], "labels_too_many"),
    ],
)
def test_what_cannot_be_a_label_is_refused(labels: list[str], code: str) -> None:
    refused = checked_labels(labels)
    assert isinstance(refused, Refused)
    assert refused.code == code
