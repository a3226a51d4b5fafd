Bej
location../../etc/passwdj
offset0j
length8p