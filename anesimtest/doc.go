// Package anesimtest holds models to what they cost when somebody last looked, in Go tests.
//
//	func TestCost(t *testing.T) {
//		m, err := anesim.Open("model.hwx")
//		...
//		anesimtest.Check(t, "testdata/cost.json", 0.02, m)
//	}
//
// With -anesim.update the test writes the baseline instead. The file is the one of the
// command's check.
package anesimtest
