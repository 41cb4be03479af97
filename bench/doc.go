// Package bench measures the project: how fast the model computes, whether its two
// implementations and its golden data agree, and how far its times are from published ones.
//
//	Layer --Build--> Workload --Run(workers)-->  fp16 values   MAC/s
//	                    |
//	       descriptors of package lower, tiles.Convolution: no device
//
//	golden cases --> mac, planar, the root                     equal or not
//	reports      --> Summary (median, 90th percentile, share)  how far
//
//	measured.Rows --Lowerer--> Chain (descriptors x count, host load)
//	                              |  hw.Timer, host.Time
//	                              v
//	                           Estimate --Compare--> Accuracy
//	                              ^
//	                Fit (fit_test.go, folds_test.go): constants of hw and host, each shape and
//	                session left out once
//
// # Accuracy
//
// Every measured row is timed on descriptors, like a program. Package lower makes the
// descriptors of most layers, and stream.go those of the others. The constants are fitted
// to the rows:
//
//	go test ./bench -run 'TestCalibration$' -calibrate
//	go test ./bench -run Derived -update
//
// This writes hw/fitted_gen.go, hw/host/fitted_gen.go and residuals.txt. The latter has
// predictions for each row from fits that had not seen its shape, and from fits that had
// not seen its session. A session is a machine with its software; its host constants are
// then those of the machine's other sessions, or pooled over other machines. A constant
// that makes left-out errors larger is dropped. The search starts from the constants of a
// study and keeps each within physical limits. The loss is Huber's on relative errors. A
// simplex of gonum optimises the engine's constants from several starts. The hosts are
// solved for inside it and drawn to floors that were measured separately. A call whose
// least time exceeds the mean of its loop was cold, and is fitted by the mean.
//
// A waiting rail draws the same power as at work until its hold time, which differs between
// machines, is over. Two alternatives were tried and dropped. One was a decaying power with
// a separate power at work: left out by session, all energies had errors of 8.3 %, 37 % at
// the 90th percentile, compared with 8.0 % and 25 % now. The other was a fitted energy of
// table look-ups, which helps the rows of gelu and no row that was left out.
//
// Quantities known from measurements or decompiled tables are not fitted. A row with a
// large error is a known gap with a test of its own, never a special case.
//
// # Speed
//
//	go test ./bench -run '^$' -bench . -count 6 | tee new.txt
//	go test ./bench -run '^$' -bench . -count 6 -tags purego | tee portable.txt
//
// Every benchmark of values runs with one worker and with one per processor. The arithmetic
// selects its fastest code automatically, so the portable code is measured in a separate
// build with the tag purego. Names contain impl=fast or impl=portable. Units are
// multiply-accumulates, elements or descriptors per second of wall time.
//
// # Real programs
//
// Tests use Apple's compiler's programs in ../shared/programs if they exist, and say so
// if they do not.
package bench
