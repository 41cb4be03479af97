module anesim/tools/mutants

go 1.26
