# The same commands for those who type make; dev.py says what each does.
.PHONY: try check docs fuzz oldest wheel
try check docs fuzz oldest wheel:
	@python3 dev.py $@
