"""Numbers, one column at a time: a normal per class, with own or shared variance."""

from bayesgen.likelihoods.normal.likelihood import Normal as Normal
