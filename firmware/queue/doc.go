// Package queue models how programs share the engine: eight task queues with their own
// priorities, one of which runs at a time.
//
//	requests                queues               engine
//	p0, prio 0  --submit--> [7] hw 31  r r
//	p1, prio 2  --submit--> [5] hw 6   r r r --> one run of descriptors at a time
//	p2, prio 7  --submit--> [0] hw 1   r         |
//	      ^                                      |
//	      +---------- events: start, finish, switched in, aborted
//
// A request is a chain of descriptors cut into runs. The engine changes to another queue at the end
// of a run, unless [Preemption] says otherwise. A run ends at a descriptor with the header bits TSR
// and TSE, after which nothing in L2 is needed any more, unless its bit DPC says that it leaves a
// result in L2 for the next one. So end all 73 last descriptors of real programs, and those of the
// 31 others that have no DPC. Priority is strict: the nonempty queue with the highest hardware
// priority (hw) runs next. Each queue has its own context for the registers that its program wrote,
// because 39 of 104 real descriptors leave words unwritten that another program would otherwise set.
//
// Time is provided by the caller: each run returns how long it takes. In package machine, a run
// executes descriptors on the device; in package traffic, it has a known length. Between
// [Scheduler.Begin] and [Scheduler.End], the caller may submit requests that arrive during the run.
package queue
