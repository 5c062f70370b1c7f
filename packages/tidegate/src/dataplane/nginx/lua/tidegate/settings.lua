-- Numbers that the configuration sets before anything else runs.
return {}
