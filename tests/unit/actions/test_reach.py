from ostler.actions.builtin.invocation import Invocation
from ostler.actions.builtin.services import Services
from ostler.actions.reach import for_jobs, reach_of

MACHINE = {
    "HOME": "/home/agent",
    "https_proxy": "http://ada:secret@proxy:3128",
    "NO_PROXY": "internal",
    "SSL_CERT_FILE": "/etc/authority.pem",
    "AWS_SECRET_ACCESS_KEY": "x",
}


def test_a_runner_reaches_others_as_it_was_told() -> None:
    assert reach_of(MACHINE).keys() == {"HOME", "https_proxy", "NO_PROXY", "SSL_CERT_FILE"}


def test_a_job_sees_no_credentials_of_its_runner() -> None:
    assert for_jobs(reach_of(MACHINE)) == {"NO_PROXY": "internal", "SSL_CERT_FILE": "/etc/authority.pem"}


def test_a_built_in_action_prefers_what_the_job_says() -> None:
    services = Services(reach={"NO_PROXY": "internal", "SSL_CERT_FILE": "/etc/authority.pem"})
    invocation = Invocation({"NO_PROXY": "*", **services.environment()})
    assert invocation.services == services
    assert invocation.variable("NO_PROXY") == "*"
    assert invocation.variable("SSL_CERT_FILE") == "/etc/authority.pem"
