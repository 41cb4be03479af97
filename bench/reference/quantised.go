package reference

var quantised = map[string]operator{}
