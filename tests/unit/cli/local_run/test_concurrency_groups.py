from ostler.cli.local_run.concurrency_groups import ConcurrencyGroups
from ostler.workflow.run.concurrency import REPLACED
from ostler.workflow.run.effects import JoinGroup, LeaveGroup
from ostler.workflow.run.happenings import GroupDenied, GroupGranted, HolderCancelled


def test_the_next_gets_the_group_when_its_holder_leaves() -> None:
    groups = ConcurrencyGroups()
    assert list(groups.join(JoinGroup("one", "Deploy"))) == [GroupGranted("one")]
    assert list(groups.join(JoinGroup("two", "deploy"))) == []
    assert list(groups.leave(LeaveGroup("one", "DEPLOY"))) == [GroupGranted("two")]
    assert list(groups.leave(LeaveGroup("two", "deploy"))) == []
    assert list(groups.join(JoinGroup("three", "deploy"))) == [GroupGranted("three")]


def test_a_newer_one_replaces_who_waits() -> None:
    groups = ConcurrencyGroups()
    list(groups.join(JoinGroup("one", "g")))
    list(groups.join(JoinGroup("two", "g")))
    assert list(groups.join(JoinGroup("three", "g"))) == [GroupDenied("two", REPLACED)]
    assert list(groups.leave(LeaveGroup("one", "g"))) == [GroupGranted("three")]


def test_a_queue_keeps_all_in_their_order() -> None:
    groups = ConcurrencyGroups()
    for holder in ("one", "two", "three"):
        list(groups.join(JoinGroup(holder, "g", queue="max")))
    assert list(groups.leave(LeaveGroup("one", "g"))) == [GroupGranted("two")]
    assert list(groups.leave(LeaveGroup("two", "g"))) == [GroupGranted("three")]


def test_the_one_that_runs_is_cancelled_and_keeps_the_group_until_it_has_ended() -> None:
    groups = ConcurrencyGroups()
    list(groups.join(JoinGroup("one", "g")))
    assert list(groups.join(JoinGroup("two", "g", cancel_in_progress=True))) == [HolderCancelled("one", REPLACED)]
    assert list(groups.leave(LeaveGroup("one", "g"))) == [GroupGranted("two")]


def test_who_waits_no_longer_is_forgotten() -> None:
    groups = ConcurrencyGroups()
    list(groups.join(JoinGroup("one", "g")))
    list(groups.join(JoinGroup("two", "g")))
    assert list(groups.leave(LeaveGroup("two", "g"))) == []
    assert list(groups.leave(LeaveGroup("one", "g"))) == []
