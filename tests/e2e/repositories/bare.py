"""A bare git repository on disk, and the clone from which its users push."""

import os
import subprocess
from pathlib import Path

_PERSON = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.net",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.net",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
}


class BareRepository:
    """See the module."""

    def __init__(self, directory: Path, name: str) -> None:
        self.name = name
        self.bare = directory / "acme" / f"{name}.git"
        self.clone = directory / "clone"
        self.bare.parent.mkdir(parents=True)
        self._run("git", "init", "--quiet", "--bare", "--initial-branch=main", str(self.bare))
        self._run("git", "init", "--quiet", "--initial-branch=main", str(self.clone))
        self.git("remote", "add", "origin", str(self.bare))

    @property
    def url(self) -> str:
        """Where it is fetched from."""
        return self.bare.as_uri()

    def git(self, *arguments: str) -> str:
        """Run git in the clone and return what it prints."""
        return self._run("git", "-C", str(self.clone), *arguments)

    def commit(self, files: dict[str, str], message: str = "Change", *, push: str = "main") -> str:
        """Write files, commit and push them; the commit."""
        for path, text in files.items():
            target = self.clone / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        if push:
            self.git("push", "--quiet", "origin", f"HEAD:{push}")
        return self.git("rev-parse", "HEAD").strip()

    def install(self, script: str) -> None:
        """Have a post-receive hook run after each push."""
        hook = self.bare / "hooks" / "post-receive"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(script, encoding="utf-8")
        hook.chmod(0o700)

    def _run(self, *command: str) -> str:
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, **_PERSON}, timeout=30
        )
        assert done.returncode == 0, done.stderr
        return done.stdout
