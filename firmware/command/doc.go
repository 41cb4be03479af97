// Package command is what the host says to the engine's controller and what the
// controller says back: ninety-three commands in a ring that both share.
//
//	host                          ring                     controller
//	header | body  --Push-->  [ ][c][c][c][ ]  --doorbell-->  Pop
//	                               ^ head  ^ tail              |
//	<-- completion, notifications -------------------------- answer
//
// A command is a header of six words (number, size of the body, priority, program, process
// and procedure) and a body. The documents give the numbers, names, directions and limits
// of all of them, and the layout of none of the bodies: where this package lays one out,
// commands.txt says "ours", and so does [Info]. Fields that the documents name keep their
// names.
//
// A [Mailbox] is the rings and doorbells of both sides, with the store by which the
// controller rings the host; a [Controller] is the state machine behind it, and counts in
// its [Ledger] what became of every message. It does nothing itself: an [Engine] does.
//
// commands.txt is the one source of the numbers; go generate writes commands_gen.go.
package command

//go:generate go run ./internal/commandgen
