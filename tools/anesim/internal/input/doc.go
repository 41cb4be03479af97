// Package input reads what a command line names: models in files and pipes, layers in words,
// tensors, descriptor texts, register-init tables and the run-time parameters beside a program.
// Errors name the file.
package input
