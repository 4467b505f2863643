"""The pages of docs/reference: what their generators make of docstrings, signatures and constraints."""

from pathlib import Path

import pytest
from xdsl.dialects.builtin import ArrayAttr, IntegerAttr, StringAttr, f32
from xdsl.irdl import IRDLOperation, attr_def, irdl_op_definition, opt_operand_def, region_def, result_def

from flambeau.passes import kit
from flambeau.passes.delegation.interface import State, backend_names
from flambeau.passes.kit import m
from flambeau.tools.reference import dialect_pages
from flambeau.tools.reference.backend_pages import backend_page, backends_page
from flambeau.tools.reference.kit_page import kit_page
from flambeau.tools.reference.markdown import cell, docstring, entries_of, sections_of, table

DOCSTRING = """Does something.

It has a second paragraph: with a colon.

Args:
    first: one thing, which takes
        two lines.
    second, third: both the same.

Raises:
    ValueError: no.

Example:
    x = 1

    assert x
"""


def test_docstrings_become_paragraphs_lists_and_code():
    text, sections = sections_of(DOCSTRING)
    assert text == "Does something.\n\nIt has a second paragraph: with a colon."
    both = "both the same."
    assert entries_of(sections["Args"]) == {"first": "one thing, which takes two lines.", "second": both, "third": both}
    assert "\n".join(docstring(DOCSTRING)).endswith(
        "* `third`: both the same.\n* raises `ValueError`: no.\n\n```python\nx = 1\n\nassert x\n```\n"
    )
    assert docstring("") == []


def test_cells_keep_code_and_escape_the_rest():
    assert cell("a * b | `c * d`") == "a \\* b \\| `c * d`"
    assert table(("a",), []) == []


def test_the_page_of_the_kit_describes_each_name():
    page = kit_page()
    assert [name for name in kit.__all__ if f"### `{name}`" not in page and f"| `{name}` |" not in page] == ["m"]
    functions = [name for name, thing in vars(m).items() if not name.startswith("_") and getattr(thing, "__module__", "") == m.__name__]
    assert {"op", "value", "attribute", "constant", "either", "all_of"} <= set(functions)
    assert all(f"### `m.{name}`" in page for name in ("op", "value", "attribute", "constant", "either", "all_of", "Match", "Part", "Op"))
    assert "`where(condition: Callable[[T], bool], otherwise: str | None = None) -> Self`" in page
    assert "solutions" not in page.partition("### `m.Op`")[2], "what a base says is not said again"


def test_the_page_of_backends_has_a_row_for_each_folder_and_explains_each_state():
    page = backends_page()
    folders = [path.parent.name for path in (Path(__file__).parents[3] / "backends").glob("*/__init__.py")]
    assert {"elementwise", "xnnpack"} <= {*folders} and all(f"| `{name}` |" in page for name in folders)
    assert all(f"* *{state.value}*: " in page for state in State)


@pytest.mark.parametrize("name", backend_names())
def test_the_page_of_a_backend_says_what_each_limit_is_of(name: str):
    page = backend_page(name)
    assert "``" not in page and "None" not in page and " is ;" not in page and " is  |" not in page


@irdl_op_definition
class FooOp(IRDLOperation):
    """`test.foo %x`: does foo.

    Attributes:
        names: what it is called.
    """

    name = "test.foo"
    x = opt_operand_def(f32)
    names = attr_def(ArrayAttr[StringAttr])
    size = attr_def(IntegerAttr)
    y = result_def()
    body = region_def()


def test_the_section_of_an_operation():
    assert (
        "\n".join(dialect_pages.operation_section(FooOp))
        == """## `test.foo`

```text
test.foo %x
```

Does foo.

| operand | is |
|---|---|
| `x` | `f32`, may be absent |

| attribute | is | meaning |
|---|---|---|
| `names` | a list, each entry a string | what it is called. |
| `size` | an integer |  |

| result | is |
|---|---|
| `y` | anything |

Regions: `body`.
"""
    )
