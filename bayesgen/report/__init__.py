"""HTML report of a fitted classifier: one module for each section; `contents` has their order."""

from typing import TYPE_CHECKING

from bayesgen.on_demand import on_demand

if TYPE_CHECKING:
    from bayesgen.report.contents import write_report as write_report
else:
    __getattr__, __dir__ = on_demand(
        __name__,
        {
            "contents": ["write_report"],
        },
    )
