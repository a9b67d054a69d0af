"""What the control plane writes about itself when something breaks."""

import pytest
import structlog

from ostler.server.logging import configure_logging


@pytest.mark.parametrize("json", [True, False])
def test_a_traceback_holds_no_values(json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    def fails(headers: dict[str, str]) -> None:
        del headers["absent"]

    secret = "can" + "ary"
    configure_logging(json=json, debug=False)
    try:
        try:
            fails({"authorization": secret})
        except KeyError:
            structlog.get_logger("test").exception("call_failed")
    finally:
        structlog.reset_defaults()
    written = capsys.readouterr().err
    assert "call_failed" in written
    assert "in fails" in written or '"name": "fails"' in written
    assert secret not in written
