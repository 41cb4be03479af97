// Package command models the messages between the host and the engine's controller:
// ninety-three commands in a shared ring.
//
//	host                          ring                     controller
//	header | body  --Push-->  [ ][c][c][c][ ]  --doorbell-->  Pop
//	                               ^ head  ^ tail              |
//	<-- completion, notifications -------------------------- answer
//
// A command is a header of six words (number, size of the body, priority, program, process
// and procedure) and a body. The documents give the numbers, names, directions and limits
// of all commands, but the layout of none of the bodies. Layouts of this package are marked
// "ours" in commands.txt and in [Info]. Fields keep the names that the documents use.
//
// A [Mailbox] holds the rings and doorbells of both sides, including the write by which the
// controller notifies the host. A [Controller] is the state machine that handles the
// commands, and its [Ledger] counts the results of all messages. An [Engine] performs the
// work.
//
// commands.txt is the single source of the numbers. go generate writes commands_gen.go.
package command

//go:generate go run ./internal/commandgen
