// Package anesimtest checks in Go tests that the cost of models does not change unnoticed.
//
//	func TestCost(t *testing.T) {
//		m, err := anesim.Open("model.hwx")
//		...
//		anesimtest.Check(t, "testdata/cost.json", 0.02, m)
//	}
//
// With -anesim.update the test writes the baseline instead. The file has the format of the command
// "anesim check".
package anesimtest
