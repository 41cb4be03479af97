package lower

// Validate checks a layer against itself and the engine's limits.
func (l *Layer) Validate() error {
	if _, ok := opNames[l.Op]; !ok {
		return l.wrong("no such operation")
	}
	if min(l.In.N, l.In.C, l.In.H, l.In.W) < 1 {
		return l.wrong("input %v has an empty axis", l.In)
	}
	var err error
	switch l.Op {
	case Convolution:
		err = l.validateWindow()
	case MatMul, Linear:
		if l.Columns < 1 {
			err = l.wrong("%d columns", l.Columns)
		}
	case Add, Sub, Mul, Max, Min:
		err = l.validateSecond()
	case ReduceSum, ReduceMean, ReduceMax, ReduceMin, Softmax, LayerNorm:
		if l.Axes == 0 || l.Axes > AxisC|AxisH|AxisW {
			err = l.wrong("axes %#x", uint8(l.Axes))
		}
	case Concat:
		err = l.validateParts()
	case Slice:
		err = l.validateSlice()
	}
	if err != nil {
		return err
	}
	if a := l.Activation; a != 0 && (a < ReLU || a > Rsqrt || l.Op > Linear) {
		return l.wrong("%v cannot follow it", a)
	}
	for _, s := range [...]Shape{l.In, l.Out()} {
		if err := s.validate(); err != nil {
			return err
		}
	}
	return nil
}

func (s Shape) validate() error {
	const split = "split it into parts of at most %d and run them one after the other"
	if err := within(
		limit{"batch", s.N, MaxGroups, split},
		limit{"channels", s.C, MaxChannels, split},
		limit{"height", s.H, MaxExtent, split},
		limit{"width", s.W, MaxExtent, split},
	); err != nil {
		return err
	}
	row := max(64, (s.W*elementBytes+63)&^63)
	return within(limit{"bytes of a tensor", row * s.H * s.C * s.N, MaxSurface, split})
}

func (l *Layer) validateWindow() error {
	w := &l.Window
	if err := within(
		limit{"kernel height", w.Kh, MaxKernel, "use at most %d rows of taps"},
		limit{"kernel width", w.Kw, MaxKernel, "use at most %d columns of taps"},
		limit{"vertical stride", w.Sy, MaxStride, "stride by at most %d and take every second result"},
		limit{"horizontal stride", w.Sx, MaxStride, "stride by at most %d and take every second result"},
		limit{"padding above", w.Py, MaxPad, "pad by at most %d"},
		limit{"padding on the left", w.Px, MaxPad, "pad by at most %d"},
	); err != nil {
		return err
	}
	groups := max(1, l.Groups)
	switch {
	case min(w.Kh, w.Kw, w.Sy, w.Sx) < 1 || min(w.Py, w.Px, w.Qy, w.Qx) < 0:
		return l.wrong("window %+v has an empty side", *w)
	case l.Cout < 1 || l.Groups < 0:
		return l.wrong("%d output channels in %d groups", l.Cout, l.Groups)
	case l.In.C%groups != 0 || l.Cout%groups != 0:
		return l.wrong("%d groups do not divide %d and %d channels", groups, l.In.C, l.Cout)
	case l.In.H+w.Py+w.Qy < w.Kh || l.In.W+w.Px+w.Qx < w.Kw:
		return l.wrong("a %dx%d window does not fit the padded input", w.Kh, w.Kw)
	case max(w.Py, w.Qy) >= w.Kh || max(w.Px, w.Qx) >= w.Kw:
		return l.wrong("padding of a whole window")
	}
	return nil
}

// validateSecond checks that a second operand is as long as the first or repeats.
func (l *Layer) validateSecond() error {
	if l.Second > Itself {
		return l.wrong("second operand of kind %d", l.Second)
	}
	if l.Second == Constant {
		return within(limit{"channels with a constant each", l.In.C, MaxExtent, "split the channels into parts of at most %d"})
	}
	if l.Second != Runtime {
		return nil
	}
	s, in := l.SecondShape, l.In
	for _, a := range [...][2]int{{s.N, in.N}, {s.C, in.C}, {s.H, in.H}, {s.W, in.W}} {
		if a[0] != a[1] && a[0] != 1 {
			return l.wrong("second input %v does not repeat to %v", s, in)
		}
	}
	return nil
}

func (l *Layer) validateParts() error {
	sum := 0
	for _, c := range l.Parts {
		if c < 1 {
			return l.wrong("an input of %d channels", c)
		}
		sum += c
	}
	if sum != l.In.C {
		return l.wrong("inputs of %v channels, together %d", l.Parts, l.In.C)
	}
	const most = 32 - bar5 // buffers 4 and 6 to 31
	return within(limit{"inputs", len(l.Parts), most, "join at most %d at a time"})
}

func (l *Layer) validateSlice() error {
	b, s, in := l.Begin, l.Size, l.In
	for _, a := range [...][3]int{{b.N, s.N, in.N}, {b.C, s.C, in.C}, {b.H, s.H, in.H}, {b.W, s.W, in.W}} {
		if a[0] < 0 || a[1] < 1 || a[0]+a[1] > a[2] {
			return l.wrong("%v from %v on leaves %v", s, b, in)
		}
	}
	return nil
}

// validate checks that the values are as many as the layer takes; none are zeros.
func (w *Weights) validate(l *Layer) error {
	filter, bias, second := 0, 0, 0
	switch l.Op {
	case Convolution:
		filter, bias = l.Cout*(l.In.C/max(1, l.Groups))*l.Window.Kh*l.Window.Kw, l.Cout
	case MatMul, Linear:
		filter, bias = l.In.W*l.Columns, l.Columns
	case Add, Sub, Mul, Max, Min:
		switch l.Second {
		case Scalar:
			second = 1
		case Constant:
			second = l.In.C
		}
	}
	for _, v := range [...]struct {
		name      string
		got, want int
	}{{"weights", len(w.Filter), filter}, {"biases", len(w.Bias), bias}, {"constants", len(w.Second), second}} {
		if v.got != 0 && v.got != v.want {
			return l.wrong("%d %s, want %d", v.got, v.name, v.want)
		}
	}
	return nil
}
