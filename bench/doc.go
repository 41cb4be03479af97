// Package bench measures the project against others and against itself: how fast the
// model computes, whether its two faces and its golden data agree, and how far its times
// are from those somebody else gives.
//
//	Layer --Build--> Workload --Run(workers)-->  halves        MAC/s
//	                    |
//	       packed lanes, regs.Groups, tiles.Convolution: no program, no device
//
//	golden cases --> hw/mac, hw/planar, tools/machine          equal or not
//	reports      --> Summary (median, 90th percentile, share)  how far
//
// # Speed
//
//	go test ./bench -run '^$' -bench . -count 6 | tee new.txt
//	go test ./bench -run '^$' -bench . -count 6 -tags purego | tee portable.txt
//
// Every benchmark of values runs with one worker and with one for each processor. The
// arithmetic picks its fastest code by itself and no call chooses another, so the
// portable code is measured by a build of its own, with the tag purego; the names carry
// impl=fast or impl=portable. Units are multiply-accumulates, elements or descriptors a
// second of wall time.
//
// # Real programs
//
// Tests use the vendor compiler's programs where they stand beside the checkout, in
// ../shared/programs, and say so when they do not.
package bench
