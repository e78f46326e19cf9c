"""Functions named by a spec: found, or refused with the user's own frames."""

from __future__ import annotations

import pytest

from tritonsmith.errors import SpecError, UserCodeError
from tritonsmith.references import load_reference, run_user_code


def test_a_function_is_found_by_its_reference() -> None:
    assert load_reference("os.path:join", role="factory")("a", "b") == "a/b"


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        ("os.path.join", "not of the form 'package.module:function'", None),
        ("os.path:jion", "module os.path has no function 'jion'", None),
        ("os.path:sep", "has no function 'sep'", None),
    ],
)
def test_a_wrong_reference_is_refused(reference: str, message: str, hint: str | None) -> None:
    with pytest.raises(SpecError) as caught:
        load_reference(reference, role="factory")
    assert message in caught.value.message


def test_a_missing_module_is_named_with_the_place_it_was_looked_for() -> None:
    with pytest.raises(UserCodeError, match="needs the module 'nowhere_to_be_found'") as caught:
        load_reference("nowhere_to_be_found:load", role="factory")
    assert "pip install" in (caught.value.hint or "")


def test_an_error_in_the_users_code_shows_the_users_lines_only() -> None:
    def helper() -> None:
        raise ValueError("weights are missing")

    with pytest.raises(UserCodeError, match="factory 'x:y' raised ValueError: weights are missing") as caught:
        run_user_code(helper, what="factory 'x:y'")
    assert len(caught.value.details) == 1
    assert caught.value.details[0].endswith('in helper: raise ValueError("weights are missing")')
    assert "test_references.py:" in caught.value.details[0]
