// Package queue is how programs share the engine: eight task queues with priorities of
// their own, one of which runs at a time.
//
//	requests                queues                 engine
//	p0, prio 0  --submit--> [0] prio 31  r r
//	p1, prio 2  --submit--> [2] prio 6   r r r  --> one run of descriptors at a time
//	p2, prio 7  --submit--> [7] prio 1   r          |
//	      ^                                         |
//	      +---------- events: start, finish, switched in, aborted
//
// A request is a chain of descriptors cut into runs. The engine changes to another queue
// only where a run ends: there the descriptor carries TSR and TSE, and nothing in the L2 is
// live (73 of 73 last descriptors of real programs; of 31 others those without DPC, which
// hands a tile to the next run). Priority is strict:
// the queue of the highest hardware priority that holds a request goes next, and the
// registers a program has written wait in its queue's own context, for 39 of 104 real
// descriptors leave words unwritten that another program would otherwise give them.
//
// Time is the caller's: a run says how long it took, so that the same scheduler drives the
// device descriptor by descriptor and a simulation of a million dispatches whose runs were
// timed once.
package queue
