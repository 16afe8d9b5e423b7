"""The application whose help is the page of the command line."""

from bayesgen.cli.main import application

app = application()
app.help = ""  # the page begins with its own words
