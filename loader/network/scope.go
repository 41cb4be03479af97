package network

import "anesim/loader/network/graph"

// A scope is tensors by their names. That of an attempt goes on from an outer one, of which
// it changes nothing until it is kept.
type scope struct {
	outer *scope
	own   map[string]*graph.Value // made here
	views map[string]*graph.Value // tensors of the outer scopes as they are seen here
}

// find is the tensor of a name, nil if there is none.
func (s *scope) find(name string) *graph.Value {
	for ; s != nil; s = s.outer {
		if v := s.own[name]; v != nil {
			return v
		}
		if v := s.views[name]; v != nil {
			return v
		}
	}
	return nil
}

// value is the tensor of a name; one without a name is nobody else's.
func (s *scope) value(name string) *graph.Value {
	if name == "" {
		return &graph.Value{}
	}
	if v := s.find(name); v != nil {
		return v
	}
	v := &graph.Value{Name: name}
	s.add(name, v)
	return v
}

// made is a tensor that is made here: that of the outer scope is not changed.
func (s *scope) made(name string) *graph.Value {
	if v := s.own[name]; v != nil || name == "" {
		return s.value(name)
	}
	v := &graph.Value{Name: name}
	if of := s.find(name); of != nil {
		*v = *of
	}
	s.add(name, v)
	return v
}

func (s *scope) add(name string, v *graph.Value) {
	if s.own == nil {
		s.own = map[string]*graph.Value{}
	}
	s.own[name] = v
}

// seen is a tensor of an outer scope as it is seen here, whatever it is outside.
func (s *scope) seen(v *graph.Value) *graph.Value {
	if x := s.views[v.Name]; x != nil {
		return x
	}
	x := *v
	if s.views == nil {
		s.views = map[string]*graph.Value{}
	}
	s.views[v.Name] = &x
	return &x
}

// keep gives the outer scope what was made here.
func (s *scope) keep() {
	for name, v := range s.own {
		if of := s.outer.find(name); of != nil {
			*of = *v
		} else {
			s.outer.add(name, v)
		}
	}
}
