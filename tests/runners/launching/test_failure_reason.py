"""The reason of a failed launch is one sentence: how it ended, what the script said, what to do."""

from __future__ import annotations

from pathlib import Path

from fireassay.launchers.support.base import Ending
from fireassay.runners.launching import watch
from fireassay.runners.launching.watch import explaining_line, script_lines, tail, why_failed

LOG = "logs/launch=0000.log"

# What torchrun 2.13 prints after a worker has failed, shortened.
TORCHRUN = """\
E1120 16:59:00.898000 13048 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: {code}) local_rank: 0
Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/env/torch/distributed/run.py", line 1032, in <module>
    main()
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
============================================================
/home/me/train.py FAILED
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-20_16:59:25
  rank      : {rank} (local_rank: {rank})
  exitcode  : {code} (pid: 13281)
  error_file: <N/A>
============================================================
"""
TRACEBACK = """\
Traceback (most recent call last):
  File "train.py", line 2, in f
    def f(): raise ValueError("batch size 0 makes no sense")
ValueError: batch size 0 makes no sense
"""


def failed(output: str, code: int | None = 1, signal: int | None = None) -> str:
    return why_failed(Ending(exit_code=code, signal=signal), output, LOG)


def test_an_exit_code_comes_with_the_last_output() -> None:
    expected = "the script exited with code 3; its last output was: bye (all of its output: logs/launch=0000.log)"
    assert failed("hello\nbye\n", 3) == expected


def test_a_silent_failure_says_that_nothing_was_printed() -> None:
    assert failed("", 3) == "the script exited with code 3, and printed nothing (all of its output: logs/launch=0000.log)"


def test_the_last_exception_explains_a_failure_better_than_the_last_line() -> None:
    assert "exited with code 1: train.py:2: ValueError: batch size 0 makes no sense (" in failed(TRACEBACK + "cleaning up\n")


def test_a_peer_that_ended_is_not_why_the_others_did() -> None:
    """TRL's script without its package: rank 0 fails, and rank 1 in a collective, below assay's hooks, whose traceback is the last."""
    hooks = Path(watch.__file__).parents[2] / "instruments/hooks/torch_hooks.py"
    output = (
        '[rank0]: Traceback (most recent call last):\n[rank0]:   File "/home/me/card.py", line 7, in card\n[rank0]: ValueError: no version\n'
        '[rank1]: Traceback (most recent call last):\n[rank1]:   File "/home/me/train.py", line 9, in main\n'
        f'[rank1]:   File "{hooks}", line 292, in outer\n[rank1]: RuntimeError: [/gloo/pair.cc:553] Connection closed by peer [127.0.0.1]:2\n'
    )
    assert explaining_line(output) == "card.py:7: ValueError: no version"
    alone = explaining_line(output[output.index("[rank1]") :])
    assert alone.startswith("train.py:9: RuntimeError: [/gloo/pair.cc:553] Connection closed by peer")


def test_the_line_is_that_of_the_users_own_file_and_not_of_a_library() -> None:
    output = """\
Traceback (most recent call last):
  File "/home/me/my train.py", line 41, in <module>
    main()
[rank1]:   File "/home/me/part.py", line 7, in main
    loss.backward()
  File "/env/lib/python3.11/site-packages/torch/_tensor.py", line 9, in backward
    run()
RuntimeError: sizes differ
"""
    assert explaining_line(output) == "part.py:7: RuntimeError: sizes differ"
    assert "exited with code 1: part.py:7: RuntimeError" in failed(output)
    assert explaining_line("ValueError: no traceback was printed") == "ValueError: no traceback was printed"


def test_what_a_profiler_prints_is_not_the_scripts_last_output() -> None:
    """Kineto's lines, as torch 2.13 prints them in a profiled launch."""
    kineto = "USDT:2026-11-22 16:42:29 5291:5291 SyncActivityProfilerHandler.cpp:59] profiler_stop\n"
    assert script_lines(f"{kineto}bye\n{kineto}") == ["bye"]


def test_torchruns_own_page_is_left_out_and_its_rank_and_code_are_taken() -> None:
    output = "hello\n" + TRACEBACK + TORCHRUN.format(code=1, rank=1)
    assert failed(output).startswith("rank 1 of the script exited with code 1: train.py:2: ValueError: batch size 0 makes no sense (")
    assert script_lines("bye\n" + TORCHRUN.format(code=3, rank=0)) == ["bye"]
    assert failed("bye\n" + TORCHRUN.format(code=3, rank=0)).startswith("rank 0 of the script exited with code 3; its last")


def test_a_missing_package_comes_with_its_install_command() -> None:
    output = "ModuleNotFoundError: No module named 'sklearn.datasets'\n" + TORCHRUN.format(code=1, rank=0)
    assert failed(output).endswith("(No module named 'sklearn.datasets'): pip install scikit-learn")
    assert failed("ModuleNotFoundError: No module named 'foo.bar'").endswith("pip install foo")


def test_a_signal_is_named_in_every_form_of_exit_status() -> None:
    said = "the script was ended by signal 9 (SIGKILL)"
    assert failed("x", code=128 + 9).startswith(said)
    assert failed("x", code=None, signal=9).startswith(said)
    assert "rank 1 of the script was ended by signal 9 (SIGKILL)" in failed("x\n" + TORCHRUN.format(code=-9, rank=1))
    assert "out of memory: see dmesg" in failed("x", code=128 + 9)


def test_a_full_disk_and_full_memory_come_with_a_remedy() -> None:
    assert "free disk space" in failed("OSError: [Errno 28] No space left on device")
    assert "or fewer workers" in failed("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB")


def test_trouble_with_the_launching_itself_comes_first() -> None:
    assert why_failed(Ending(exit_code=None, trouble="the engine could not be started: x"), "noise", LOG) == (
        "the engine could not be started: x."
    )


def test_a_very_long_line_is_cut() -> None:
    assert explaining_line("x" * 10_000) == "x" * 297 + "..."


def test_a_script_s_output_cannot_steer_the_reader_s_terminal(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"\x1b]0;title\x07\x1b[1;31mno caf\xc3\xa9\x1b[0m \x1b[2J\x08here\x00\n")
    assert "its last output was: no café here (" in failed(tail(tmp_path / "log"))


def test_undecodable_output_is_still_shown(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"caf\xe9\n")
    assert "caf\ufffd" in failed(tail(tmp_path / "log"))
    assert tail(tmp_path / "absent") == ""


def test_the_output_of_a_node_after_torchruns_traceback_on_another_is_seen() -> None:
    engine = 'Traceback (most recent call last):\n  File "<frozen runpy>", line 198, in _run_module_as_main\ntorch.X: got signal: 15\n'
    output = f"assay: node a ended with 1; it said:\n{engine}assay: node b ended with 3; it said:\nno such file: data.bin\n"
    assert explaining_line(output) == "no such file: data.bin"
