"""HTML report of a fitted classifier: one module for each section; `contents` has their order."""

from bayesgen.report.contents import write_report as write_report
