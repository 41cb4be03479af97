// Package machine lists the computers and phones whose calls are modelled, a row each: the chip and
// its clock states, the host, the other processors, and the measurements that the row
// rests on.
//
// A machine names a chip and a host that exist together. Machines with an engine of a later
// generation than the M1's are estimates: the schedule is that of an M1, at the clock and the memory
// rate of the machine, because programs of those generations are not modelled. Their intervals come
// from measurements on machines that the fit had not seen.
package machine
