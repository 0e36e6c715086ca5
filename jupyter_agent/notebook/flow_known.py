"""What well-known functions and methods do to their objects: tables only, no logic.

A name in no table is unknown, and an unknown call may change what it is given.
"""

# ruff: noqa: SIM905  (tables of many words read better as text)

from __future__ import annotations

import sys

MUTATING_METHODS = frozenset(
    """
    add add_annotation add_artist add_axes add_collection add_column add_line add_node add_nodes_from add_edge
    add_edges_from add_patch add_row add_subplot add_table add_trace add_typed_hook append appendleft backward barh
    clear commit compile_model difference_update discard execute executemany extend extendleft fill fit fit_transform
    freeze insert insertChild intersection_update itemset load_state_dict move_to_end partial_fit pop popitem popleft
    push put remove requires_grad_ resize reverse rotate seed set_index_names set_params setdefault setfield setflags
    sort step symmetric_difference_update train update update_layout update_traces update_xaxes update_yaxes writerow
    writerows write writelines zero_grad zero_ __setitem__ __delitem__ __setattr__ cla clf tick_params twinx twiny
    legend set_title set_xlabel set_ylabel set_xlim set_ylim set_xticks set_yticks set_xticklabels set_yticklabels
    set_xscale set_yscale set_aspect set suptitle tight_layout subplots_adjust autofmt_xdate axhline axvline annotate
    """.split()
)
"""Methods that change the object they are called on, in the standard library and the common data libraries."""

CONTAINER_METHODS = frozenset(
    """
    add append appendleft clear difference_update discard extend extendleft fill insert intersection_update move_to_end
    pop popitem popleft remove resize reverse rotate setdefault setfield setflags sort symmetric_difference_update
    update
    """.split()
)
"""Those of MUTATING_METHODS that do nothing else: no output, no file, no drawing."""

DRAWING_METHODS = frozenset(
    """
    bar barh boxplot contour contourf fill_between hexbin hist hist2d hlines imshow pcolormesh pie plot quiver scatter
    stem step text violinplot vlines
    """.split()
)
"""Methods that draw: on an Axes they change it, on a data frame they do not. Which one is told by the name: `ax…` and
`fig…` are axes and figures by matplotlib's own convention."""

PURE_METHODS = frozenset(
    """
    abs agg aggregate all any apply applymap argmax argmin argsort as_matrix asfreq assign astype at_time autocorr
    between bool capitalize casefold center clip combine combine_first conj copy corr corrwith count cov cross cummax
    cummin cumprod cumsum cut date decode describe detach diff difference dot drop drop_duplicates dropna dt duplicated
    encode endswith eq equals eval ewm expanduser expanding explode exists ffill bfill fillna filter find first
    first_valid_index flatten floor format format_map from_dict ge get get_dummies get_params groupby gt head
    hex idxmax idxmin index infer_objects info interpolate intersection isalnum isalpha isascii isdecimal is_dir
    is_file isdigit isdisjoint isidentifier isin islower isna isnull isnumeric isoformat isprintable isspace issubset
    issuperset istitle isupper item items iterrows itertuples join keys kurt kurtosis last le ljust loc lower lstrip
    lt mad map maketrans mask max mean median melt memory_usage merge min mode mul multiply ne nlargest nonzero
    notna notnull nsmallest nunique numpy parent partition pct_change pivot pivot_table pow predict predict_proba
    predict_log_proba prod product quantile query rank ravel read_text read_bytes reindex rename rename_axis
    repeat replace resample reset_index reshape resolve rfind rindex rjust rolling round rpartition rsplit rstrip
    sample score searchsorted select_dtypes sem set_axis set_index shift size skew sort_index sort_values split
    splitlines squeeze stack startswith std stem str strftime strip strptime sub subtract sum summary swapaxes
    swapcase symmetric_difference tail take title to_dict to_frame to_html to_list to_markdown to_numpy to_records
    to_string tobytes tolist total_seconds trace transform translate transpose truncate tz_convert tz_localize
    union unique unstack upper value_counts values var view where with_suffix with_name xs zfill
    """.split()
)
"""Methods that only read their object and have no effect outside it. `inplace=True` overrules this table."""

PURE_BUILTINS = frozenset(
    """
    abs all any ascii bin bool bytearray bytes callable chr complex dict divmod enumerate filter float format
    frozenset getattr hasattr hash hex id int isinstance issubclass iter len list map max min object oct ord pow
    property range repr reversed round set slice sorted staticmethod classmethod str sum super tuple type zip
    """.split()
)
"""Builtins that neither change their arguments nor anything else (`next` moves its iterator, so it is not here)."""

READING_BUILTINS = frozenset({"print", "display", "open", "help", "input", "vars", "dir", "exit", "quit"})
"""Builtins with an effect of their own that leave their arguments alone."""

MUTATING_FUNCTIONS = frozenset(
    """
    shuffle heappush heappop heapify heapreplace heappushpop insort insort_left insort_right setattr delattr next
    fill_diagonal copyto put place putmask put_along_axis exec
    """.split()
)
"""Functions (last part of the dotted name) that change an argument."""

KNOWN_LIBRARIES = frozenset(
    """
    IPython altair bokeh bs4 catboost cv2 dask datasets folium geopandas hvplot ipywidgets joblib keras lightgbm
    matplotlib networkx nltk numpy pandas patsy PIL plotly polars pyarrow pymc requests scipy seaborn shap skimage
    sklearn spacy statsmodels sympy tensorflow torch torchvision tqdm transformers xarray xgboost yaml
    """.split()
) | frozenset(sys.stdlib_module_names)
"""Libraries whose functions leave their arguments alone unless MUTATING_FUNCTIONS names them, and whose import binds
names and does nothing else that a notebook could see."""

PURE_MODULES = frozenset({"math", "cmath", "statistics", "operator", "itertools", "functools", "string", "textwrap",
                          "collections", "dataclasses", "datetime", "decimal", "fractions", "re", "typing", "enum",
                          "bisect", "copy", "json", "calendar", "types", "abc", "numbers", "unicodedata"})  # fmt: skip
"""Modules whose functions compute a value and do nothing else (except those in MUTATING_FUNCTIONS)."""

PURE_FUNCTIONS = frozenset(
    """
    numpy.array numpy.arange numpy.linspace numpy.zeros numpy.ones numpy.full numpy.eye numpy.asarray numpy.where
    numpy.mean numpy.std numpy.sum numpy.log numpy.exp numpy.sqrt numpy.abs numpy.sin numpy.cos numpy.concatenate
    numpy.stack numpy.vstack numpy.hstack numpy.median numpy.percentile numpy.unique numpy.sort numpy.argsort
    pandas.DataFrame pandas.Series pandas.concat pandas.merge pandas.to_datetime pandas.cut pandas.qcut
    pandas.date_range pandas.to_numeric pandas.get_dummies pandas.Timestamp pandas.Timedelta pathlib.Path
    os.path.join os.path.basename os.path.dirname os.path.splitext
    """.split()
)
"""Dotted functions of larger libraries that compute a value and do nothing else."""

RANDOM_METHODS = frozenset(
    """
    betavariate choice choices expovariate gauss getrandbits normal normalvariate permutation poisson rand rand_like
    randint randn random random_sample randperm randrange sample shuffle standard_normal triangular uniform
    """.split()
)
"""Functions of `random`, `numpy.random` and `torch` that draw from the process-wide random state."""

SEEDS = frozenset({"seed", "manual_seed", "set_seed", "set_random_seed", "set_state", "setstate"})

UNKNOWN_CALLS = {
    "exec": ("exec() may read and bind any name", True, True),
    "eval": ("eval() may read any name", True, False),
    "globals": ("globals() may read and bind any name", True, True),
    "locals": ("locals() may read and bind any name", True, True),
    "execfile": ("execfile() may read and bind any name", True, True),
}
"""Builtin → (sentence, may read any name, may bind any name)."""

SHELL_ATTRIBUTES = frozenset(
    """
    run_cell run_cell_async run_line_magic run_cell_magic run_code ex ev push user_ns user_global_ns magic system
    safe_execfile safe_run_module reset drop_by_id del_var run_ast_nodes
    """.split()
)
"""Attributes of `get_ipython()` through which code is run or names are bound."""

PYTHON_STATEMENT_MAGICS = frozenset({"time", "timeit", "prun", "memit", "mprun", "lprun", "debug"})
"""Line magics whose argument is a Python statement; all names have at least four letters, so that `if 1:` fits over
`%name` and every column stays where it was."""

PYTHON_CELL_MAGICS = frozenset(
    "time timeit capture prun memit mprun lprun scalene pyinstrument snakeviz heat debug".split()
)
"""Cell magics whose body is Python that runs in the notebook's own namespace (`timeit`: in a scope of its own)."""

LOCAL_SCOPE_MAGICS = frozenset({"timeit", "memit"})
"""Magics that run their code in a scope of its own: names bound there are gone afterwards."""

OTHER_LANGUAGE_MAGICS = {
    "bash": "bash", "sh": "bash", "script": "script", "perl": "perl", "ruby": "ruby", "html": "html", "HTML": "html",
    "javascript": "javascript", "js": "javascript", "latex": "latex", "markdown": "markdown", "svg": "svg",
    "SVG": "svg", "R": "r", "sql": "sql", "python": "python-process", "python2": "python-process", "cmd": "cmd",
    "python3": "python-process", "pypy": "python-process", "writefile": "file", "file": "file", "julia": "julia",
    "system": "bash", "sx": "bash", "!": "bash", "bigquery": "sql", "powershell": "powershell", "mermaid": "mermaid",
    "css": "css",
}  # fmt: skip
"""Cell magics whose body is not Python of this kernel → the language of the body."""

QUIET_LINE_MAGICS = frozenset(
    """
    matplotlib config autoreload aimport cd pwd ls ll dirs pushd popd env set_env pip conda mamba micromamba uv who whos
    who_ls pinfo pinfo2 pdoc pdef psource pfile pycat history hist notebook logstart logstop logon logoff logstate
    precision colors xmode pdb tb doctest_mode alias unalias bookmark pastebin quickref system sx gui automagic
    lsmagic magic man more less cat mkdir rmdir rm cp mv page pprint rerun save killbgscripts writefile
    subshell tensorboard watermark reload_ext_note connect_info qtconsole dhist rehashx psearch sql reset_timeit
    """.split()
)
"""Line magics that neither bind nor remove names of the notebook."""

QUIET_EXTENSIONS = frozenset({"autoreload", "storemagic"})
"""Extensions of IPython itself whose loading binds no name. All others: unknown."""

SHELL_NAMES = frozenset(
    """
    get_ipython display In Out _ __ ___ _i _ii _iii _ih _oh _dh _exit_code __name__ __doc__ __builtins__ __builtin__
    __loader__ __package__ __spec__ __file__ __session__ exit quit open copyright credits license WindowsError
    """.split()
)
"""Names that IPython or Python itself provides in a fresh kernel."""
