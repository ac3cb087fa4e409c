# The same commands for those who type make; dev.py says what each does.
.PHONY: try check docs
try check docs:
	@python3 dev.py $@
