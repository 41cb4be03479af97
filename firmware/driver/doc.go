// Package driver is the kernel driver's face: two user clients, each with a flat table of
// selectors that are pinned to exact sizes, over one command ring.
//
//	caller --selector, scalars, struct--> Client.Call
//	                                        | sizes exact? entitled? open?
//	                                        v
//	             control: 17 selectors   direct path: 9 selectors
//	                                        |
//	                              command.Message --> ring --> doorbell 1 << index
//
// The sizes are those of the documents' chapter on the driver, which were read byte for
// byte from the kernel's tables. Other parts of the documents differ: [Conflicts] keeps
// both readings side by side, with the one that this package follows.
//
// Programs are held by handles: an owner's, those of further instances, and handles that
// the broker's client lends to a client with a connection of its own, which may send
// requests and nothing else. [Methods] are the surface beside the selectors, each with the
// gate that it stands behind.
//
// A selector that the documents name without saying what it does returns Unsupported once
// its sizes are right; nothing pretends.
package driver
