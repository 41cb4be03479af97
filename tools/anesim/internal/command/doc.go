// Package command is the anesim command line: one file a command, each a function from
// flags to writers, so that tests run what a person runs. The flags that commands share are
// package flags, what they read package input, what they print package text, and what the
// commands of a topic have in common a package of the topic.
//
// Exit status: 0 done, 1 the check failed, the input is bad or the device faulted, 2
// usage. An error is one line on standard error.
package command
