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
//	measured.Rows --Lowerer--> Chain (descriptors x count, host load)
//	                              |  hw.Timer, host.Time
//	                              v
//	                           Estimate --Compare--> Accuracy
//	                              ^
//	                Fit: constants of hw and host, each shape left out once
//
// # Accuracy
//
// Every measured row is timed on descriptors, as a program is: package lower makes those
// of a layer, stream.go those it does not lower. The constants are fitted to the rows:
//
//	go test ./bench -run 'TestCalibration$' -calibrate
//	go test ./bench -run Derived -update
//
// writes hw/fitted_gen.go, host/fitted_gen.go and residuals.txt, the errors of fits that
// had not seen a row's shape. The search starts from a study's constants and keeps each
// within what is physical; the loss is Huber's on relative errors; a simplex of gonum
// moves the engine's constants from several starts, hosts are solved for inside, drawn to
// floors that were measured by themselves. What measurements or decompiled tables give is
// not fitted. A row that stays far off is a known gap with a test of its own, never a case
// of its own.
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
