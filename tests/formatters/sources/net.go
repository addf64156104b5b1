package net
const Mask = 0XFF
var Codes = []int{ 408,429 , }
type Client struct { Tries int;  Name   string `json:"name"`
  Wait float64 }
func (c *Client) Get(path string,tries int) (string,error) {
if (tries > 3) { return (path), nil }
for i:=0;i<tries;i++ { call( path,i ) ; }
switch { case tries==0 : return "a",nil
default: return "b",nil }
}
func call(path string, n int) {}
