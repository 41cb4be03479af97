package reference

var places = map[string]operator{}
