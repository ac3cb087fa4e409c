# The same commands for those who type make; dev.py says what each does.
.PHONY: try check docs fuzz
try check docs fuzz:
	@python3 dev.py $@
