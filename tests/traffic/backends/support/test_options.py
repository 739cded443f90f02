"""Are options understood or refused by name, and do secrets come from the environment and show up nowhere?"""

from __future__ import annotations

import traceback
from dataclasses import replace

import pytest

from fireassay import catalog
from fireassay.errors import EnvironmentLacks
from fireassay.spec.sections.serving import Target
from fireassay.traffic.backends.support.bodies import Hidden, adding, body_of, check_options, headers_of, joined, with_headers
from fireassay.traffic.parts import Wire

KEY = "sk-a-key-that-nobody-may-see-42"
TARGET = Target(api_key_env="FIREASSAY_TEST_KEY", headers={"X-Team": "search", "X-Token": "a {env:FIREASSAY_TEST_TOKEN}!"})
ENVIRON = {"FIREASSAY_TEST_KEY": f" {KEY}\n", "FIREASSAY_TEST_TOKEN": "another-secret"}


def test_a_key_is_a_bearer_and_variables_are_put_into_headers() -> None:
    assert headers_of(TARGET, environ=ENVIRON) == (
        ("authorization", f"Bearer {KEY}"),
        ("x-team", "search"),
        ("x-token", "a another-secret!"),
    )
    assert TARGET.secret_variables == ("FIREASSAY_TEST_KEY", "FIREASSAY_TEST_TOKEN")


def test_no_repr_shows_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in ENVIRON.items():
        monkeypatch.setenv(name, value)
    wire = with_headers(TARGET)(Wire(path="/x", body=b"{}"), "http://h")
    assert dict(wire.headers)["authorization"] == f"Bearer {KEY}"
    assert f"{Hidden(KEY)}" == KEY  # it is sent as it is
    for shown in (repr(wire), str(wire), repr(wire.headers), f"{wire.headers!r}", repr(dict(wire.headers)), repr(Hidden(KEY))):
        assert KEY not in shown
        assert "another-secret" not in shown
    assert "[redacted]" in repr(wire)


@pytest.mark.parametrize("held", ["", "   ", "two\nlines of " + KEY, f"ключ {KEY}", f"{KEY}\x00"])
def test_a_variable_that_cannot_be_used_is_named_and_not_shown(held: str) -> None:
    with pytest.raises(EnvironmentLacks, match="FIREASSAY_TEST_KEY") as caught:
        headers_of(Target(api_key_env="FIREASSAY_TEST_KEY"), environ={"FIREASSAY_TEST_KEY": held})
    assert KEY not in "".join(traceback.format_exception(caught.value))


def test_a_header_takes_the_place_of_an_equal_one() -> None:
    headers = (("content-type", "application/json"), ("accept", "a"))
    assert joined(headers, (("accept", "b"), ("x", "1"))) == (("content-type", "application/json"), ("accept", "b"), ("x", "1"))


def test_without_anything_to_add_a_wire_stays_the_same() -> None:
    wire = Wire(path="/x", body=b"")
    assert with_headers(Target())(wire, "http://h") is wire
    add = adding((("a", "b"),))
    assert add(wire, "http://h").headers is add(wire, "http://h").headers  # made once


def test_body_keys_go_into_objects_by_their_dots() -> None:
    options = {"body.top_k": 40, "body.a.b": True, "body.a.c": 1.5, "json.stop": '["x", "y"]', "path": "/p"}
    assert body_of(Target(options=options)) == {"top_k": 40, "a": {"b": True, "c": 1.5}, "stop": ["x", "y"]}


def found(backend: str, **options: str | int | float | bool) -> list[str]:
    return [str(problem) for problem in check_options(Target(backend=backend, options=options))]


def test_what_is_understood_is_no_problem() -> None:
    assert found("vllm", path="/v2/chat", omit="seed", max_tokens_key="n", **{"body.top_k": 4, "json.stop": "[]"}) == []
    assert found("bedrock", region="eu-central-1", api="invoke") == []
    assert found("oci", compartment_id="ocid1") == []
    assert found("process", folder="/models/m", threads=2) == []


@pytest.mark.parametrize(
    ("backend", "options", "words"),
    [
        ("vllm", {"pth": "/x"}, "audio_bytes_per_s, image_size, partial_images, body.KEY, json.KEY. Did you mean path?"),
        ("vllm", {"top_k": 40}, '"body.top_k" adds a key to every body.'),
        ("vllm", {"path": "v2"}, "begins with a slash"),
        ("vllm", {"body.model": "m2"}, "model is set by the experiment"),
        ("vllm", {"body.a..b": 1}, "names between the dots"),
        ("vllm", {"json.stop": "[x"}, "allowed: JSON"),
        ("tgi", {"native": "yes"}, "a true or false"),
        ("process", {"threads": True}, "a whole number"),
        ("process", {"body.top_k": 1}, "sends no body"),
        ("bedrock", {"api": "chat"}, "one of converse, invoke"),
        ("oci", {}, 'compartment_id = "..."'),
    ],
)
def test_what_is_not_understood_is_refused_with_a_mend(backend: str, options: dict[str, str | int | bool], words: str) -> None:
    (problem,) = found(backend, **options)
    assert words in problem


def test_a_task_that_the_dialect_does_not_know_is_refused() -> None:
    assert check_options(Target(backend="tgi"), "chat") == ()
    (problem,) = check_options(Target(backend="tgi", options={"native": True}), "chat")
    assert "with tgi's own dialect: completions" in str(problem)
    (problem,) = check_options(Target(backend="trtllm"), "rerank")
    assert "task rerank" in str(problem)


def test_headers_that_frame_a_message_are_refused() -> None:
    (problem,) = check_options(Target(headers={"Content-Length": "3"}))
    assert "Content-Length" in str(problem)


@pytest.mark.parametrize("name", catalog.names("traffic.backends"))
def test_every_backend_documents_its_options(name: str) -> None:
    backend = catalog.load("traffic.backends", name)
    told = __import__(f"fireassay.traffic.backends.{name}", fromlist=["BACKEND"]).__doc__
    assert [option for option in backend.options if f"`{option}`" not in told] == []
    assert replace(backend) == backend
