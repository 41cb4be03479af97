package lower

// Validate checks a layer against itself and the engine's limits.
func (l *Layer) Validate() error {
	if _, ok := opNames[l.Op]; !ok {
		return l.wrong("no such operation")
	}
	if min(l.In.N, l.In.C, l.In.H, l.In.W) < 1 {
		return l.wrong("input %v has an empty axis", l.In)
	}
	if l.Op == Convolution {
		if err := l.validateWindow(); err != nil {
			return err
		}
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
