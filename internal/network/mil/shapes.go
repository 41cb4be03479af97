package mil

import "strconv"

// A group is a value of nested tuples, lists and dictionaries. It is a word or a number if it has no parts.
type group struct {
	text  string
	parts []group
}

// parseGroup reads a group whose opening bracket is the current token. Brackets of all kinds only
// group.
func (s *parser) parseGroup() group {
	s.countNesting()
	defer func() { s.depth-- }()
	if s.arguments++; s.arguments > maxArguments {
		s.recordError("program exceeds the limit of %d arguments", maxArguments)
	}
	if s.quoted || s.token != "(" && s.token != "[" && s.token != "{" {
		g := group{text: s.token}
		if s.token == "" && !s.quoted {
			s.recordError("unexpected end of file in the shapes of a function")
		}
		s.nextToken()
		return g
	}
	var g group
	s.nextToken()
	for s.quoted || s.token != ")" && s.token != "]" && s.token != "}" {
		g.parts = append(g.parts, s.parseGroup())
		s.acceptMark(",")
	}
	s.nextToken()
	return g
}

// toIntegers returns the numbers of a group, or nil if it is anything else.
func (g *group) toIntegers() (list []int64) {
	for _, p := range g.parts {
		n, err := strconv.ParseInt(p.text, 10, 64)
		if err != nil {
			return nil
		}
		list = append(list, n)
	}
	return list
}

// parseShapes reads the shapes that the inputs of a function may have, up to and including the closing
// parenthesis:
//
//	(("DefaultShapes", {{"x", [1, 16, 8]}}), ("RangeDims", {{"x", [[1, 1], [1, 128], [8, 8]]}}))
//	(("DefaultShapes", ...), ("EnumeratedShapes", {{"3d41", {{"x", [1, 16, 8]}}}, {"9a0c", {{"x", [1, 32, 8]}}}}))
//
// The tuple is in the parentheses of a value, whose opening one was read. Parts of another form are
// skipped.
func (s *parser) parseShapes() map[string]*Shapes {
	g := s.parseGroup()
	s.expectMark(")")
	shapes := map[string]*Shapes{}
	// visit calls set for each pair of a name and a value in a dictionary.
	visit := func(dictionary *group, set func(name string, value *group)) {
		for i := range dictionary.parts {
			if pair := dictionary.parts[i].parts; len(pair) == 2 {
				set(pair[0].text, &pair[1])
			}
		}
	}
	of := func(name string) *Shapes {
		if shapes[name] == nil {
			shapes[name] = &Shapes{}
		}
		return shapes[name]
	}
	visit(&g, func(kind string, value *group) {
		switch kind {
		case "DefaultShapes":
			visit(value, func(name string, shape *group) { of(name).Default = shape.toIntegers() })
		case "RangeDims":
			visit(value, func(name string, ranges *group) {
				var list [][2]int64
				for i := range ranges.parts {
					bounds := ranges.parts[i].toIntegers()
					if len(bounds) != 2 {
						return
					}
					list = append(list, [2]int64(bounds))
				}
				of(name).Ranges = list
			})
		case "EnumeratedShapes":
			visit(value, func(_ string, inputs *group) {
				visit(inputs, func(name string, shape *group) {
					// A list of another form is skipped: shapes are optional, and the program is valid
					// without.
					if list := shape.toIntegers(); list != nil {
						of(name).Listed = append(of(name).Listed, list)
					}
				})
			})
		}
	})
	return shapes
}
