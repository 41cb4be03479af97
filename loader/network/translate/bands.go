package translate

import "fmt"

// cumsum sums what stands before along an axis.
func cumsum(x *operation) {
	truth := func(key string) int64 {
		if x.bool(key) {
			return 1
		}
		return 0
	}
	x.node("CumSum", []string{x.in("x"), x.wholes(x.int("axis", 0))}, integer("exclusive", truth("exclusive")), integer("reverse", truth("reverse")))
}

// band keeps a band of diagonals: so many below the main one and above it, all where the
// number is negative.
func band(x *operation) {
	in := x.in("x")
	lower, upper := x.int("lower", -1), x.int("upper", -1)
	if lower >= 0 {
		in = x.step("Trilu", []string{in, x.wholes(-lower)}, integer("upper", 1))
	}
	if upper >= 0 {
		in = x.step("Trilu", []string{in, x.wholes(upper)}, integer("upper", 0))
	}
	x.node("Identity", []string{in})
}

// localNorm divides by a power of the squares of a window of channels.
func localNorm(x *operation) {
	x.node("LRN", []string{x.in("x")}, integer("size", x.int("size", 1)), decimal("alpha", x.number("alpha", 1e-4)),
		decimal("beta", x.number("beta", 0.75)), decimal("bias", x.number("k", 1)))
}

// crop takes rows and columns off the edges of pictures.
func crop(x *operation) {
	in := x.in("x")
	rows, columns := x.ints("crop_height"), x.ints("crop_width")
	d := x.dims[in]
	if len(rows) != 2 || len(columns) != 2 || len(d) < 2 {
		x.err = fmt.Errorf("edges %v and %v of %v", rows, columns, d)
		return
	}
	h, w := int64(d[len(d)-2]), int64(d[len(d)-1])
	x.node("Slice", []string{in, x.wholes(rows[0], columns[0]), x.wholes(h-rows[1], w-columns[1]), x.wholes(-2, -1)})
}

func notEqual(x *operation) {
	x.node("Not", []string{x.step("Equal", []string{x.in("x"), x.in("y")})})
}
