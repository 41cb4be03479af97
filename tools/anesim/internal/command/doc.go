// Package command implements the anesim command line. Each command has its own file and is a
// function from flags to writers, so that tests run the same code as a user. Packages flags,
// input and text hold what commands share: flags, reading of files, and reports.
//
// The exit status is 0 for success, 1 if a check failed, the input is bad or the device faulted,
// 2 for a wrong command line, and 128 plus the number of a signal that ends the command, such as 130
// after an interrupt. An error is one line on standard error.
package command
