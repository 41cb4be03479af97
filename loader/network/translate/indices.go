package translate

import "fmt"

// emitCumSum converts a cumulative sum along an axis.
func emitCumSum(x *operation) {
	truth := func(key string) int64 {
		if x.bool(key) {
			return 1
		}
		return 0
	}
	x.emit("CumSum", []string{x.inputName("x"), x.newInts(x.int("axis", 0))}, intAttr("exclusive", truth("exclusive")), intAttr("reverse", truth("reverse")))
}

// emitBand keeps a band of diagonals of each matrix, and sets all other elements to zero. The
// arguments lower and upper are the numbers of diagonals below and above the main one; a negative
// number keeps all.
func emitBand(x *operation) {
	in := x.inputName("x")
	lower, upper := x.int("lower", -1), x.int("upper", -1)
	if lower >= 0 {
		in = x.emitStep("Trilu", []string{in, x.newInts(-lower)}, intAttr("upper", 1))
	}
	if upper >= 0 {
		in = x.emitStep("Trilu", []string{in, x.newInts(upper)}, intAttr("upper", 0))
	}
	x.emit("Identity", []string{in})
}

// emitLocalNorm emits an LRN, which divides each element by a power of a sum over the squares of
// neighboring channels.
func emitLocalNorm(x *operation) {
	x.emit("LRN", []string{x.inputName("x")}, intAttr("size", x.int("size", 1)), floatAttr("alpha", x.float("alpha", 1e-4)),
		floatAttr("beta", x.float("beta", 0.75)), floatAttr("bias", x.float("k", 1)))
}

// emitCrop removes rows and columns at the edges of images.
func emitCrop(x *operation) {
	in := x.inputName("x")
	rows, columns := x.ints("crop_height"), x.ints("crop_width")
	d := x.dims[in]
	if len(rows) != 2 || len(columns) != 2 || len(d) < 2 {
		x.err = fmt.Errorf("cannot crop rows %v and columns %v from shape %v; want two numbers each and at least 2 axes", rows, columns, d)
		return
	}
	h, w := int64(d[len(d)-2]), int64(d[len(d)-1])
	x.emit("Slice", []string{in, x.newInts(rows[0], columns[0]), x.newInts(h-rows[1], w-columns[1]), x.newInts(-2, -1)})
}

func emitNotEqual(x *operation) {
	x.emit("Not", []string{x.emitStep("Equal", []string{x.inputName("x"), x.inputName("y")})})
}
