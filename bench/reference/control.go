package reference

var control = map[string]operator{}
