"""Turns of `%%agent` in a real ipykernel, as a front end sees and saves them."""

from __future__ import annotations

import ast
import base64
import json

from conversations import notebook_file
from magic.drive import Front, call, model, use_model

from jupyter_agent.testing.scripted import ScriptedServer

PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def ask(kernel: Front, script: list[dict], request: str = "Do it.", options: str = "--mode accept-edits --new"):
    with model(kernel, script):
        return kernel.run(f"%%agent {options}\n{request}")


def test_code_runs_in_the_persons_namespace_awaits_included(kernel: Front) -> None:
    kernel.run("given = 20")
    code = "import asyncio\nawait asyncio.sleep(0.01)\ntaken = given + 1\nprint('said')\ntaken"
    ran = ask(
        kernel, [call("run_code", code=code), {"expect": {"tool_result_contains": "21"}, "text": "It is **21**."}]
    )
    assert ran.status == "ok"
    assert kernel.value("taken") == 21
    assert [o["text"] for o in ran.outputs if o["output_type"] == "stream"] == ["said\n"]
    assert "21" in [o["data"]["text/plain"] for o in ran.outputs if o["output_type"] == "display_data"]
    assert "<strong>21</strong>" in ran.html
    assert "It is **21**." in ran.text


def test_counts_history_and_results_are_those_of_cells(kernel: Front) -> None:
    before = kernel.value("get_ipython().execution_count")
    script = [call("run_code", code="6 * 7"), call("run_code", code="1/0"), {"text": "Done."}]
    with model(kernel, script):
        begun = kernel.value("get_ipython().execution_count")
        magic = kernel.run("%%agent --mode accept-edits --new\nCount.")
        following = kernel.run("'next'")
    assert magic.count == begun == before + 1
    assert following.count == begun + 3
    entered, results = kernel.value(f"In[{begun + 1}:{begun + 3}]"), kernel.value(f"Out[{begun + 1}]")
    assert entered == ["6 * 7", "1/0"]
    assert results == 42


def test_a_failing_run_is_told_mapped_and_does_not_fail_the_cell(kernel: Front, tmp_path) -> None:
    (kernel.folder / "helpers.py").write_text("def half(value):\n    return value / 0\n")
    script = [
        call("run_code", code="import helpers\nhelpers.half(3)"),
        {
            "expect": {
                "tool_result_error": True,
                "tool_result_contains": ["ZeroDivisionError", "run_code line 2", "helpers.py", "line 2"],
            },
            "text": "It divides by zero.",
        },
    ]
    ran = ask(kernel, script)
    assert ran.status == "ok"
    assert not [o for o in ran.outputs if o["output_type"] == "error"]
    assert ran.text.count("ZeroDivisionError: division by zero in run_code line 2") == 1
    assert "return value / 0" in ran.html


def test_plots_are_drawn_once_and_the_model_sees_them(kernel: Front) -> None:
    code = "%matplotlib inline\nimport matplotlib.pyplot as plt\n_ = plt.plot([1, 2])"
    ran = ask(kernel, [call("run_code", code=code), {"text": "Drawn."}])
    pictures = [o["data"]["image/png"] for o in ran.outputs if "image/png" in o.get("data", {})]
    assert len(pictures) == 1
    assert base64.b64decode(pictures[0])[:4] == b"\x89PNG"


def test_data_frames_show_as_tables(kernel: Front) -> None:
    code = "import pandas as pd\nframe = pd.DataFrame({'a': [1, 2], 'b': ['x', 'y']})\nframe"
    ran = ask(kernel, [call("run_code", code=code), call("inspect_variables", names=["frame"]), {"text": "A table."}])
    assert "<table" in ran.html
    assert "2 rows × 2 columns" in ran.text


def test_widgets_work_as_from_a_cell(kernel: Front) -> None:
    code = "import ipywidgets\nslider = ipywidgets.IntSlider(value=3)\nslider"
    ran = ask(kernel, [call("run_code", code=code), {"text": "A slider."}])
    shown = [o for o in ran.outputs if "application/vnd.jupyter.widget-view+json" in o.get("data", {})]
    assert len(shown) == 1
    assert shown[0]["data"]["application/vnd.jupyter.widget-view+json"]["model_id"] == kernel.value("slider.model_id")


def test_display_updates_reach_the_display(kernel: Front) -> None:
    code = (
        "from IPython.display import display\nhandle = display({'text/plain': 'first'}, raw=True, display_id=True)\n"
        "handle.update({'text/plain': 'second'}, raw=True)"
    )
    ran = ask(kernel, [call("run_code", code=code), {"expect": {"tool_result_contains": "second"}, "text": "Updated."}])
    assert "second" in ran.text
    assert "first" not in ran.text.replace("⏎", "\n").split("⎿", 1)[1]


def test_a_thread_of_the_person_prints_meanwhile(kernel: Front) -> None:
    kernel.run(
        "import threading, time\nprinting = threading.Event()\n"
        "def talk():\n    while not printing.wait(0.01):\n        print('tick')\n"
        "thread = threading.Thread(target=talk)\nthread.start()"
    )
    ran = ask(kernel, [call("run_code", code="import time\ntime.sleep(0.3)\nquiet = 1"), {"text": "Done."}])
    kernel.run("printing.set()\nthread.join()")
    assert ran.status == "ok"
    assert kernel.value("quiet") == 1


def test_a_large_array_is_not_copied(kernel: Front) -> None:
    # Zeroed pages take no memory until somebody writes to them, so a copy shows as a whole gigabyte.
    kernel.run("import numpy, resource\nlarge = numpy.zeros(125_000_000)")
    before = kernel.value("resource.getrusage(resource.RUSAGE_SELF).ru_maxrss")
    script = [
        call("inspect_variables"),
        call("inspect_variables", names=["large"], detail=True),
        call("run_code", code="total = float(large[:10].sum()) + 10"),
        {"text": "Ten."},
    ]
    ran = ask(kernel, script)
    after = kernel.value("resource.getrusage(resource.RUSAGE_SELF).ru_maxrss")
    kernel.run("del large")
    assert ran.status == "ok"
    assert "125000000" in ran.html
    assert kernel.value("total") == 10.0
    assert (after - before) / 1024 < 200, "megabytes more at the peak: the array was copied"


def test_twice_in_a_row_is_one_conversation(kernel: Front) -> None:
    with model(kernel, [{"text": "First."}, {"expect": {"any_contains": "First."}, "text": "Second."}]) as server:
        kernel.run("%%agent --new\nOne.")
        kernel.run("made_meanwhile = 1")
        kernel.run("%agent Two.")
        last = server.messages[-1]["messages"][-1]["content"]
        assert "New in the kernel: made_meanwhile." in json.dumps(last)
        assert "made_meanwhile = 1" in json.dumps(last)
        assert kernel.value("(_agent.text, _agent.conversation.turn)") == ("Second.", 2)


def test_the_agent_does_not_call_itself(kernel: Front) -> None:
    ran = ask(kernel, [call("run_code", code="%agent do it again"), {"text": "Not twice."}])
    assert ran.status == "ok"
    assert "does not call itself" in ran.text


def test_result_object_tells_text_changes_and_undoes(kernel: Front) -> None:
    notebook = notebook_file(kernel.folder / "result.ipynb", "a = 1")
    before = notebook.read_bytes()
    edit = call("edit_cells", ops=[{"op": "edit", "cell": "c1", "blocks": [{"search": "a = 1", "replace": "a = 2"}]}])
    script = [call("read_cells"), edit, call("run_cells", cells="all"), {"text": "Two now."}]
    ran = ask(kernel, script, options="--mode accept-edits --new --notebook result.ipynb")
    assert "1 cell changed (result.ipynb: c1)" in ran.text
    assert "verified: proven" in ran.text
    assert kernel.value("a") == 2
    found = kernel.value("(_agent.text, _agent.verified, _agent.reason, _agent.changes[0]['cell'], repr(_agent))")
    assert found[:4] == ("Two now.", "proven", "done", "c1")
    assert "result.ipynb#c1" in found[4]
    undone = kernel.run("report = await _agent.undo()\nprint(report.text())")
    assert "Kernel state is not restored" in undone.text
    assert notebook.read_bytes() == before
    assert kernel.value("a") == 2


def test_quiet_shows_the_answer_and_the_closing_line(kernel: Front) -> None:
    script = [call("run_code", text="Let me see.", code="hidden_step = 1"), {"text": "The answer."}]
    ran = ask(kernel, script, options="--mode accept-edits --new --quiet")
    assert ran.text.startswith("The answer.")
    assert "run_code" not in ran.text
    assert "tokens in" in ran.text


def test_images_that_tools_read_are_shown(kernel: Front) -> None:
    (kernel.folder / "dot.png").write_bytes(base64.b64decode(PNG))
    ran = ask(kernel, [call("read_file", path="dot.png"), {"text": "A dot."}])
    assert [o for o in ran.outputs if "image/png" in o.get("data", {})]


def test_what_is_saved_is_inert_and_bounded(kernel: Front) -> None:
    hostile = (
        "![x](http://127.0.0.1:9/p.png) [y](javascript:alert(1)) <script>alert(1)</script> <img src=x onerror=alert(1)>"
    )
    (kernel.folder / "long.txt").write_text("<b>long</b> line\n" * 20_000)
    script = [call("read_file", text=hostile, path="long.txt"), {"text": hostile}]
    ran = ask(kernel, script)
    assert "<script" not in ran.html
    assert "<img" not in ran.html
    assert 'href="javascript' not in ran.html
    assert "<b>long" not in ran.html
    assert len(json.dumps(ran.outputs)) < 60_000


def test_without_a_model_the_message_says_how_to_connect_one_and_the_cell_fails(kernel: Front) -> None:
    kernel.run("%config JupyterAgent.base_url = ''\n%config JupyterAgent.model = ''")
    ran = kernel.run("%%agent --new\nHello?")
    assert ran.status == "error"
    assert "ANTHROPIC_API_KEY" in ran.text
    assert "Traceback" not in ran.text
    assert "agent.py" not in ran.text


def test_a_wrong_option_is_told_in_one_sentence(kernel: Front) -> None:
    ran = kernel.run("%%agent --modle auto\nGo.")
    assert ran.status == "error"
    assert ran.error == ("AgentFailed", ran.error[1])
    assert "%agent has no option --modle" in ran.text
    assert "Traceback" not in ran.text


def test_configuration_sets_the_defaults(kernel: Front) -> None:
    shown = kernel.run("%config JupyterAgent")
    assert all(name in shown.text for name in ("mode", "model", "base_url", "max_turns", "budget", "quiet"))
    script = [call("run_code", code="first = 1"), {"text": "Done."}]
    with ScriptedServer([*script, *script]) as server:
        use_model(kernel, server)
        kernel.run("%config JupyterAgent.mode = 'plan'")
        planned = kernel.run("%agent --new Go.")
        kernel.run("%config JupyterAgent.mode = 'accept-edits'")
        accepted = kernel.run("%agent Go.")
    kernel.run("%config JupyterAgent.mode = 'review'")
    assert "not allowed" in planned.text
    assert "not allowed" not in accepted.text
    assert kernel.value("first") == 1


def test_a_limit_of_replies_ends_the_turn(kernel: Front) -> None:
    script = [call("run_code", code=f"n = {n}") for n in range(2)]
    with model(kernel, script):
        ran = kernel.run("%%agent --mode accept-edits --new --max-turns 2\nGo on and on.")
    assert ran.status == "ok"
    assert "a limit was reached" in ran.text


def test_completion_of_options_tools_variables_and_cells(kernel: Front) -> None:
    kernel.run("completed_name = 1")

    def matches(code: str) -> list[str]:
        reply = kernel.client.complete(code, reply=True, timeout=30)["content"]
        return [code[: reply["cursor_start"]] + match for match in reply["matches"]]

    assert "%agent status" in matches("%agent sta")
    assert "%%agent --mode plan" in matches("%%agent --mode pl")
    assert "%%agent --max-turns" in matches("%%agent --max")
    assert "%agent fix completed_name" in matches("%agent fix completed_n")
    assert "%agent use inspect_variables" in matches("%agent use inspect_v")


def test_subcommands(kernel: Front) -> None:
    ran = ask(kernel, [{"text": "Hello."}], request="Say hello to me.")
    assert ran.status == "ok"
    assert "accept-edits" in kernel.run("%agent mode").text
    assert "scripted-1 at 127.0.0.1" in kernel.run("%agent status").text
    assert "Say hello to me." in kernel.run("%agent history").text
    assert "Nothing was changed." in kernel.run("%agent diff").text
    assert "--max-turns" in kernel.run("%agent help").text
    nothing = kernel.run("%agent undo")
    assert nothing.status == "error"
    assert "nothing to undo" in nothing.text
    id = kernel.value("_agent.conversation.id")
    ask(kernel, [{"text": "Another."}])
    resumed = kernel.run(f"%agent resume {id}")
    assert f"Resumed {id}: Say hello to me." in resumed.text
    refused = kernel.run("%agent mode nonsense")
    assert "is no mode" in refused.text


def test_help_of_ipython_works(kernel: Front) -> None:
    reply = kernel.client.inspect("%agent", cursor_pos=6, reply=True, timeout=30)["content"]
    assert reply["found"]
    assert "Ask the agent" in reply["data"]["text/plain"]


def test_dir_is_the_same_before_and_after(kernel: Front) -> None:
    names = "sorted(n for n in dir() if not n.startswith(('_i', '_o')) and not n.strip('_').isdigit())"
    before = kernel.value(names)
    ask(kernel, [call("inspect_variables"), call("read_cells"), call("control_kernel", action="status"), {"text": "."}])
    assert kernel.value(names) == before


def test_nothing_of_the_agent_is_an_output_that_a_front_end_would_run(kernel: Front) -> None:
    ran = ask(kernel, [call("inspect_variables"), {"text": "Looked."}])
    kinds = {mime for o in ran.outputs for mime in o.get("data", {})}
    assert kinds <= {"text/html", "text/plain"}
    assert ast.literal_eval(repr(kinds))
