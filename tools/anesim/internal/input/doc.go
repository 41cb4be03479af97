// Package input reads what a command line refers to: models in files and pipes, layers given as
// words, tensors, assembler text, register-init tables and the files with a program's run-time
// parameters. Its errors contain the name of the file.
package input
