"""One self-contained HTML page about a fitted classifier and the rows it was fitted to."""

from bayesgen.report.page import report_html as report_html
