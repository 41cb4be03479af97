// Package bench measures the project against others and against itself: how fast the
// model computes, whether its two faces and its golden data agree, and how far its times
// are from those somebody else gives.
//
//	Layer --Build--> Workload --Run(workers)-->  fp16 values   MAC/s
//	                    |
//	       descriptors of package lower, tiles.Convolution: no device
//
//	golden cases --> hw/mac, hw/planar, the root               equal or not
//	reports      --> Summary (median, 90th percentile, share)  how far
//
//	measured.Rows --Lowerer--> Chain (descriptors x count, host load)
//	                              |  hw.Timer, host.Time
//	                              v
//	                           Estimate --Compare--> Accuracy
//	                              ^
//	                Fit (a test): constants of hw and host, each shape and session left out once
//
// # Accuracy
//
// Every measured row is timed on descriptors, as a program is: package lower makes those
// of a layer, stream.go those it does not lower. The constants are fitted to the rows:
//
//	go test ./bench -run 'TestCalibration$' -calibrate
//	go test ./bench -run Derived -update
//
// writes hw/fitted_gen.go, hw/host/fitted_gen.go and residuals.txt, what fits made of each
// row that had not seen its shape, and that had not seen its session: a machine with its
// software, whose host constants are then those of the machine's other sessions, or pooled
// over other machines. A constant that makes left-out errors larger is dropped. The search
// starts from a study's constants and keeps each within what is physical; the loss is
// Huber's on relative errors; a simplex of gonum moves the engine's constants from several
// starts, hosts are solved for inside, drawn to floors that were measured by themselves. A
// call whose least time exceeds the mean of its loop was cold, and is fitted by the mean.
//
// A waiting rail draws what it draws at work until its hold time is over, which is each
// machine's own. Tried and dropped: a power that decays, beside one of its own at work
// (all energies left out by session 8.3 %, 37 % at the 90th percentile, where this has
// 8.0 % and 25 %), and a fitted energy of table look-ups, which helps the rows of gelu and
// no row that was left out.
//
// What measurements or decompiled tables give is not fitted. A row that stays far off is a
// known gap with a test of its own, never a case of its own.
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
