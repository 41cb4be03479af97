// Package driver models the interface of the kernel driver: two user clients, each with a
// flat table of selectors with exact sizes, on top of one command ring.
//
//	caller --selector, scalars, struct--> Client.Call
//	                                        | sizes exact? entitled? open?
//	                                        v
//	             control: 17 selectors   direct path: 9 selectors
//	                                        |
//	                              command.Message --> ring --> doorbell 1 << index
//
// The sizes are those of the documents' chapter on the driver, which were read byte for
// byte from the kernel's tables. Other parts of the documents differ. [Conflicts] lists
// both readings, with the one that this package follows.
//
// Clients hold programs by handles: the owner's handle, handles of further instances, and
// handles that the broker lends to a client with its own connection. A borrowed handle can
// only send requests. [Methods] lists the methods without selectors, each with the
// entitlement it requires.
//
// A selector whose function is undocumented returns Unsupported if its sizes are right.
package driver
