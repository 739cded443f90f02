"""Do the parts of the serving example make a model, and a router that survives a replica's death?"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import struct
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import polars as pl
import pytest

from fireassay.spec.load import load
from tests.launchers.helpers import until
from tests.launchers.support.test_servers import pid_at, replicas
from tests.limits import PROCESS_S

EXAMPLES = Path(__file__).parents[2] / "examples"
MAKE_MODEL, HAPROXY, EXPERIMENT = "serving/make_model.py", "serving/haproxy.py", "serving.toml"
HAS_HAPROXY = shutil.which("haproxy", path="/usr/sbin:/usr/local/sbin:/usr/bin:/usr/local/bin") is not None


def module(path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(Path(path).stem, EXAMPLES / path)
    assert spec is not None
    assert spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("model") / "tiny"
    words = ["--hidden", "32", "--layers", "1", "--vocabulary", "512"]
    subprocess.run([sys.executable, str(EXAMPLES / MAKE_MODEL), str(out), *words], check=True, timeout=PROCESS_S)
    return out


def header(folder: Path) -> tuple[dict[str, dict[str, list[int]]], int]:
    data = (folder / "model.safetensors").read_bytes()
    (size,) = struct.unpack("<Q", data[:8])
    return json.loads(data[8 : 8 + size]), len(data) - 8 - size


def test_the_weights_have_the_shapes_that_the_config_says(model: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    tensors, size = header(model)
    tensors.pop("__metadata__")
    assert tensors["lm_head.weight"]["shape"] == [config["vocab_size"], 32]
    assert tensors["model.layers.0.mlp.down_proj.weight"]["shape"] == [32, 128]
    # 2 x 512 x 32 embeddings; per layer 4 x 32 x 32 attention, 3 x 32 x 128 feed-forward; 3 norms of 32; 4 bytes each
    assert size == 4 * (2 * 512 * 32 + 4 * 32 * 32 + 3 * 32 * 128 + 3 * 32)
    assert max(tensor["data_offsets"][1] for tensor in tensors.values()) == size


def test_equal_arguments_give_equal_weights(model: Path) -> None:
    make = module(MAKE_MODEL)
    assert make.safetensors(make.weights(32, 1, 512)) == (model / "model.safetensors").read_bytes()


def test_the_tokenizer_gives_back_what_it_was_given(model: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
    text = "The quick brown fox, größer als 7 foxes\n"
    assert tokenizer.decode(tokenizer.encode(text).ids) == text
    assert tokenizer.get_vocab_size() == 512
    assert tokenizer.token_to_id("<|assistant|>") == 5


def test_a_size_that_is_no_multiple_of_a_head_is_refused(tmp_path: Path) -> None:
    words = [sys.executable, str(EXAMPLES / MAKE_MODEL), str(tmp_path / "out"), "--hidden", "33"]
    refused = subprocess.run(words, capture_output=True, text=True, timeout=PROCESS_S, check=False)
    assert refused.returncode == 2
    assert "multiple of 32" in refused.stderr


def test_the_router_names_every_replica() -> None:
    text = module(HAPROXY).configuration(80, [81, 82], "/health", "leastconn")
    assert "bind 127.0.0.1:80\n" in text
    assert "server replica-0 127.0.0.1:81\n    server replica-1 127.0.0.1:82\n" in text


def test_the_experiment_starts_the_model_that_the_script_makes() -> None:
    asked = load(EXAMPLES / EXPERIMENT).serving
    assert asked is not None
    assert (asked.model, asked.tokenizer) == ("serving/tiny", "serving/tiny")
    assert [(target.name, bool(target.router)) for target in asked.targets] == [("direct", False), ("haproxy", True)]
    assert all("{model}" in target.command and target.replicas == 2 for target in asked.targets)


def test_without_haproxy_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    found = module(HAPROXY)
    monkeypatch.setattr(sys, "argv", ["haproxy.py", "1", "2,3"])
    monkeypatch.setattr(found.shutil, "which", lambda *_, **__: None)
    with pytest.raises(SystemExit, match="apt-get install haproxy"):
        found.main()


@pytest.mark.deep
@pytest.mark.skipif(not HAS_HAPROXY, reason="haproxy is not installed")
def test_behind_the_router_a_dead_replica_is_replaced_by_the_other(tmp_path: Path) -> None:
    router = [sys.executable, str(EXAMPLES / HAPROXY), "{port}", "{ports}", "--balance", "roundrobin"]
    with replicas(tmp_path, replicas=2, router=router) as two:
        two.start()
        (url,) = two.urls
        until(lambda: pid_at(url) in two.pids(0) and pid_at(url) in two.pids(1), "both replicas")
        two.kill(0)
        assert {pid_at(url) for _ in range(20)} == set(two.pids(1))


def test_the_optional_check_on_vllm_is_a_whole_experiment() -> None:
    asked = load(EXAMPLES / "serving_vllm_cpu.toml").serving
    assert asked is not None
    assert asked.targets[0].backend == "vllm"


@pytest.mark.deep
@pytest.mark.slow
@pytest.mark.torch
def test_the_demo_runs_on_a_real_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """examples/serving_demo.toml, shortened: two replicas of transformers serve answer as the model alone does."""
    from fireassay.frames.record_data import from_record
    from fireassay.record.reader import open_record
    from fireassay.runners.experiment.run import run

    model = tmp_path / "serving" / "tiny"
    subprocess.run([sys.executable, str(EXAMPLES / MAKE_MODEL), str(model)], check=True, timeout=PROCESS_S)
    words = [str(EXAMPLES / "serving/make_prompts.py"), str(model), str(model / "prompts.jsonl"), "--prompts", "8"]
    subprocess.run([sys.executable, *words], check=True, timeout=PROCESS_S, capture_output=True)
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    whole = load(EXAMPLES / "serving_demo.toml")
    assert whole.serving is not None
    arrivals = whole.serving.arrivals.model_copy(
        update={"duration_s": PROCESS_S, "requests": 40, "warm_up_s": 0.5}
    )  # however long they take
    short = whole.model_copy(
        update={
            "serving": whole.serving.model_copy(update={"concurrency": (4,), "arrivals": arrivals}),
            "faults": (),
            "launches": whole.launches.model_copy(update={"per_configuration": 1}),
        }
    )
    record = open_record(run(short, folder=tmp_path, root=tmp_path / "records"))
    measured = from_record(record)
    answered = measured.served.requests.filter(pl.col("ok"))
    assert answered.height > 10
    assert set(answered["tokens"].to_list()) == {32.0}
    assert sorted(answered["replica"].unique().to_list()) == [0, 1]
    assert measured.scores["score"].mean() > 0.5  # near-ties of an untrained model may fall to either side in a batch
